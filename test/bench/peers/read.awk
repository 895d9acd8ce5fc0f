# What the rows of peers.sh say, for table.awk and svg.awk: reads NAME.row files,
# which begin with `row FIGURE NAME THREADS NUMERICS` and go on as bench_sides
# prints, or with `failed WHY`.

$1 == "row" {
	n++
	figure[n] = $2
	name[n] = $3
	threads[n] = $4
	numerics[n] = $5
	next
}
$1 == "failed" {sub(/^failed /, ""); failed[n] = $0; next}
$1 == "none" {
	of = $2
	sub(/^none [^ ]* /, "")
	missing[n] = missing[n] (missing[n] ? "; " : "") of ": " $0
	next
}
$1 == "error" {largest[n, $2] = $3; share[n, $2] = $4; next}
$1 == "about" {of = $2; sub(/^about [^ ]* /, ""); about[n, of] = $0; next}
$1 == "parts" {next}
$1 == "peak" {peak[n] = $2; variation[n] = $3; next}
$1 == "work" {flops[n] = $2; bytes[n] = $3; next}
$1 == "cores" { # medians bear a few turns on one core
	cores[n] = $2
	again[n] = $3
	shared[n] = 4*$4 > $5 ? $4 : 0
	next
}
NF == 5 {
	sides[n] = sides[n] (sides[n] ? " " : "") $1
	ms[n, $1] = $2
	rate[n, $1] = $3
	ratio[n, $1] = $4 # its time over ours: above 1 we are ahead
	spread[n, $1] = $5
}

# Sides that are libraries; of Winograd's rows that of the same algorithm.
function is_library(i, side) {
	if (side == "tuned" || side == "untuned" || side == "direct" ||
	    side == "copy")
		return 0
	return figure[i] != "winograd" || side == "dnnl-winograd"
}

# The library that is nearest to us or ahead of us most, whose name has `like`.
function best(i, like,    k, parts, count, found) {
	count = split(sides[i], parts, " ")
	for (k = 1; k <= count; k++)
		if (is_library(i, parts[k]) && parts[k] ~ like &&
		    (!found || ratio[i, parts[k]] + 0 < ratio[i, found] + 0))
			found = parts[k]
	return found
}

function against(i, like,    found) {
	found = best(i, like)
	return found ? ratio[i, found] : 0
}

# Untuned's speed, of tuned's.
function untuned(i) {
	return ratio[i, "untuned"] > 0 ? 1 / ratio[i, "untuned"] : 0
}

# A row bound by memory is as good as its library, or as copying is for its 0.9.
function memory_score(i,    a, b) {
	a = against(i, "")
	b = ratio[i, "copy"] / 0.9
	return a > b ? a : b
}

# Our largest error, of the direct kernel's.
function error_ratio(i) {
	return largest[i, "direct"] > 0 ? largest[i, "tuned"] / largest[i, "direct"] : 0
}

# What each line of the figures is: how a row counts for it (0: not at all), the
# least geometric mean and the least of a row, 0 where none is wanted.
function figures(    k) {
	figure_count = split("plain plain-ort blocked others memory products-1 " \
		"products-2 winograd winograd-direct dots attention untuned", key, " ")
	for (k = 1; k <= figure_count; k++)
		mean_wanted[key[k]] = least_wanted[key[k]] = 0
	what_of["plain"] = "C1 to C12, of oneDNN direct"
	mean_wanted["plain"] = 1
	least_wanted["plain"] = 0.95
	what_of["plain-ort"] = "C1 to C12, of ONNX Runtime"
	mean_wanted["plain-ort"] = 1.7
	what_of["blocked"] = "C1 to C12 in NCHW16c, of oneDNN"
	mean_wanted["blocked"] = 1
	least_wanted["blocked"] = 0.97
	what_of["others"] = "other convolutions, GMM, TBG, of the best"
	mean_wanted["others"] = 1
	least_wanted["others"] = 0.95
	what_of["memory"] = "rows, pools: of the best, or of copying / 0.9"
	least_wanted["memory"] = 1
	what_of["products-1"] = "products on one thread, of the best"
	what_of["products-2"] = "products on two threads, of the best"
	mean_wanted["products-1"] = mean_wanted["products-2"] = 1
	least_wanted["products-1"] = least_wanted["products-2"] = 0.92
	what_of["winograd"] = "Winograd, of oneDNN's"
	mean_wanted["winograd"] = 0.9
	what_of["winograd-direct"] = "Winograd, of our direct kernels"
	mean_wanted["winograd-direct"] = 1.8
	what_of["dots"] = "u8 by i8, bf16, of oneDNN"
	least_wanted["dots"] = 0.95
	what_of["attention"] = "attention, of the best"
	least_wanted["attention"] = 1.2
	what_of["untuned"] = "untuned, of tuned"
	mean_wanted["untuned"] = 0.95
	least_wanted["untuned"] = 0.8
}

# products-1 to products-4: threads are part of the figure
function score(i, k) {
	if (failed[i])
		return 0
	if (k == "untuned")
		return untuned(i)
	if (k == "plain")
		return figure[i] == k ? against(i, "^dnnl") : 0
	if (k == "plain-ort")
		return figure[i] == "plain" ? ratio[i, "ort"] : 0
	if (k == "winograd-direct")
		return figure[i] == "winograd" ? ratio[i, "direct"] : 0
	if (k ~ /^products-/)
		return figure[i] "-" threads[i] == k ? against(i, "") : 0
	if (figure[i] != k)
		return 0
	return k == "memory" ? memory_score(i) : against(i, "")
}

# Sets count, mean, least and whose of a figure.
function sum_figure(k,    i, x, logs) {
	count = logs = least = 0
	whose = ""
	for (i = 1; i <= n; i++) {
		x = score(i, k)
		if (x <= 0)
			continue
		count++
		logs += log(x)
		if (!whose || x < least) {
			least = x
			whose = name[i] "-" threads[i]
		}
	}
	mean = count ? exp(logs / count) : 0
}
