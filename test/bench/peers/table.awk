# After read.awk: -v what=rows, summary or json.  The summary fails where a
# figure is missed.

# --- rows -----------------------------------------------------------------------

function floor_of(i,    k) {
	k = figure[i]
	return least_wanted[k == "products" ? k "-" threads[i] : k]
}

function notes(i, behind,    text, k, parts, count, most) {
	text = behind ? "behind; " : ""
	most = threads[i] > 1 ? 10 : 5
	if (shared[i])
		text = text sprintf("the threads shared a core in %d turns; ", shared[i])
	if (variation[i] > 10)
		text = text sprintf("the peak varied by %s %%; ", variation[i])
	count = split(sides[i], parts, " ")
	for (k = 1; k <= count; k++)
		if (spread[i, parts[k]] > most)
			text = text sprintf("noisy: %s ±%s %%; ", parts[k],
				spread[i, parts[k]])
	if (figure[i] == "winograd" && error_ratio(i))
		text = text sprintf("largest error %s, direct %s; ",
			largest[i, "tuned"], largest[i, "direct"])
	if (missing[i])
		text = text missing[i] "; "
	sub(/; $/, "", text)
	return text
}

# Every other side and how we stand to it.
function rest(i, but,    text, k, parts, count) {
	count = split(sides[i], parts, " ")
	text = ""
	for (k = 1; k <= count; k++)
		if (parts[k] != "tuned" && parts[k] != "untuned" &&
		    parts[k] != but)
			text = text (text ? ", " : "") parts[k] " " \
				sprintf("%.2f", ratio[i, parts[k]])
	return text
}

function speed(i, side) {
	if (figure[i] != "memory")
		return sprintf("%.1f", rate[i, side])
	return sprintf("%.1f GB/s", bytes[i] / ms[i, side] * 1e-6)
}

function row_line(i,    b, x, behind) {
	if (failed[i]) {
		printf "| %s | %s | | | | | | | | %s |\n", name[i], threads[i],
			failed[i]
		return
	}
	b = best(i, "")
	x = figure[i] == "memory" ? memory_score(i) : against(i, "")
	behind = b && x < floor_of(i)
	printf "| %s | %s | %.1f | %s | %s | %s | %s | %.2f | %s | %s |\n",
		name[i], threads[i], ms[i, "tuned"] * 1e3, speed(i, "tuned"),
		b ? sprintf("%.3f", ratio[i, b]) : "-",
		b ? b " " speed(i, b) ": " about[i, b] : "none", rest(i, b),
		untuned(i), peak[i] (threads[i] > 1 ? ", " cores[i] : ""),
		notes(i, behind)
}

function rows_head() {
	print "| row | threads | us | GFLOP/s | of the best | the best library | of others | untuned | peak | |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
}

# --- summary --------------------------------------------------------------------

function line(text, x, unit, how, wanted, note,    verdict) {
	if (x == "-")
		verdict = "not measured"
	else
		verdict = (how == "at least" ? x + 0 >= wanted : x + 0 <= wanted) ? "ok" : "MISSED"
	if (verdict != "ok")
		bad = 1
	printf "| %s | %s%s | %s %s | %s | %s |\n", text, x, x == "-" ? "" : unit,
		how, wanted, verdict, note
}

function summary(    k, f, i, x, worst, at, broken, behind) {
	print "| what | measured | wanted | verdict | |"
	print "| --- | --- | --- | --- | --- |"
	for (k = 1; k <= figure_count; k++) {
		f = key[k]
		sum_figure(f)
		if (mean_wanted[f])
			line(what_of[f] ", geometric mean" (count ? " of " count : ""),
				count ? sprintf("%.3f", mean) : "-", " x",
				"at least", mean_wanted[f], "")
		if (least_wanted[f])
			line(what_of[f] ", least", count ? sprintf("%.3f", least) : "-",
				" x", "at least", least_wanted[f], whose)
	}
	for (i = 1; i <= n; i++) {
		broken += failed[i] != ""
		behind += shared[i] > 0
		x = figure[i] == "winograd" ? error_ratio(i) : 0
		if (x > worst) {
			worst = x
			at = name[i]
		}
	}
	line("Winograd, largest error, of the direct kernel's",
		worst ? sprintf("%.1f", worst) : "-", " x", "at most", 8, at)
	line("rows that could not be measured, of " n, broken + 0, "", "at most", 0, "")
	line("rows whose threads shared a core, of " n, behind + 0, "", "at most", 0, "")
	return bad
}

# --- JSON -----------------------------------------------------------------------

function quoted(text) {
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	gsub(/[\001-\037]/, " ", text)
	return "\"" text "\""
}

function number(x) {
	return x ~ /^-?[0-9]/ ? x : "null"
}

function json_row(i,    k, parts, count) {
	printf " {\"row\": %s, \"figure\": %s, \"threads\": %d, \"numerics\": %s,\n",
		quoted(name[i]), quoted(figure[i]), threads[i],
		quoted(numerics[i] == "-" ? "default" : numerics[i])
	if (failed[i]) {
		printf "  \"failed\": %s}", quoted(failed[i])
		return
	}
	printf "  \"flops\": %s, \"bytes\": %s, \"peak_gflops\": %s, \"peak_variation\": %s,\n",
		number(flops[i]), number(bytes[i]), number(peak[i]),
		number(variation[i])
	printf "  \"cores_gflops\": %s, \"turns_again\": %d, \"turns_shared\": %d,\n",
		number(cores[i]), again[i], shared[i]
	printf "  \"best\": %s, \"missing\": %s, \"sides\": [", quoted(best(i, "")),
		quoted(missing[i])
	count = split(sides[i], parts, " ")
	for (k = 1; k <= count; k++)
		printf "%s\n   {\"side\": %s, \"ms\": %s, \"gflops\": %s, \"time_of_ours\": %s, \"spread\": %s, \"largest_error\": %s, \"about\": %s}",
			(k > 1 ? "," : ""), quoted(parts[k]), number(ms[i, parts[k]]),
			number(rate[i, parts[k]]), number(ratio[i, parts[k]]),
			number(spread[i, parts[k]]), number(largest[i, parts[k]]),
			quoted(about[i, parts[k]])
	printf "]}"
}

function json(    i, k) {
	printf "{\"machine\": %s, \"date\": %s, \"tuning\": %s,\n\"figures\": [",
		quoted(machine), quoted(date), quoted(tuning)
	for (k = 1; k <= figure_count; k++) {
		sum_figure(key[k])
		printf "%s\n {\"figure\": %s, \"rows\": %d, \"mean\": %s, \"least\": %s, \"least_row\": %s}",
			(k > 1 ? "," : ""), quoted(key[k]), count,
			count ? sprintf("%.4f", mean) : "null",
			count ? sprintf("%.4f", least) : "null", quoted(whose)
	}
	print "],\n\"rows\": ["
	for (i = 1; i <= n; i++) {
		json_row(i)
		print i < n ? "," : ""
	}
	print "]}"
}

END {
	figures()
	if (what == "head")
		rows_head()
	if (what == "rows")
		for (i = 1; i <= n; i++)
			row_line(i)
	if (what == "json")
		json()
	if (what == "summary")
		exit summary()
}
