# After read.awk: a picture, a strip for each figure, a dot for each row at our
# speed over the library's; the geometric mean as a line, the least one by name.

function x_of(ratio) {
	if (ratio < 0.5)
		ratio = 0.5
	if (ratio > 4)
		ratio = 4
	return 300 + 400 * log(ratio / 0.5) / log(8)
}

function escaped(text) {
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	return text
}

function tick(ratio, text, class) {
	printf "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"46\" y2=\"%d\"/>\n",
		class, x_of(ratio), x_of(ratio), bottom
	printf "<text class=\"s\" text-anchor=\"middle\" x=\"%.1f\" y=\"40\">%s</text>\n",
		x_of(ratio), text
}

function dot(i, k, y,    x) {
	x = score(i, k)
	if (x <= 0)
		return
	printf "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"4\"><title>%s, %s: %.2f</title></circle>\n",
		x < 1 ? "b" : "a", x_of(x), y, escaped(name[i]), threads[i], x
}

function strip(k, y,    i) {
	sum_figure(k)
	printf "<text x=\"10\" y=\"%d\">%s</text>\n", y + 4, escaped(what_of[k])
	if (!count) {
		printf "<text class=\"s\" x=\"300\" y=\"%d\">not measured</text>\n", y + 4
		return
	}
	for (i = 1; i <= n; i++)
		dot(i, k, y)
	printf "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
		x_of(mean), x_of(mean), y - 9, y + 9
	printf "<text x=\"715\" y=\"%d\">%.2f</text>\n", y + 4, mean
	printf "<text class=\"s\" x=\"755\" y=\"%d\">%.2f %s</text>\n", y + 4, least,
		escaped(whose)
}

function style() {
	print "<style>"
	print "text{font:12px sans-serif;fill:#24292f}.s{font-size:11px;fill:#57606a}"
	print ".g{stroke:#d0d7de}.o{stroke:#57606a}.m{stroke:#24292f;stroke-width:3}"
	print ".a{fill:#1a7f37;fill-opacity:.6}.b{fill:#cf222e;fill-opacity:.75}"
	print "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}"
	print ".g{stroke:#30363d}.o{stroke:#9198a1}.m{stroke:#e6edf3}"
	print ".a{fill:#3fb950;fill-opacity:.6}.b{fill:#f85149;fill-opacity:.75}}"
	print "</style>"
}

END {
	figures()
	bottom = 56 + 28 * figure_count
	height = bottom + 34
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 920 %d\" role=\"img\">\n",
		height
	print "<title>tunec's kernels against libraries</title>"
	style()
	print "<text x=\"10\" y=\"20\">Speed of tunec's kernels, of a library's: a dot for each row</text>"
	print "<text class=\"s\" x=\"715\" y=\"40\">mean</text>"
	print "<text class=\"s\" x=\"755\" y=\"40\">least</text>"
	tick(0.5, "0.5", "g")
	tick(0.7, "0.7", "g")
	tick(1, "1", "o")
	tick(1.5, "1.5", "g")
	tick(2, "2", "g")
	tick(4, "4", "g")
	for (k = 1; k <= figure_count; k++)
		strip(key[k], 40 + 28 * k)
	printf "<text class=\"s\" x=\"10\" y=\"%d\">%s</text>\n", height - 10,
		escaped(machine ", " date)
	print "</svg>"
}
