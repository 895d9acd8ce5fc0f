# A disassembly of nvdisasm -c: for each loop (a branch back to its label), in
# order, its number of instructions and how many of each there are:
#     loop 1126 FFMA 1024 LDS.128 64 ...
/^\.L_[x0-9_]*:/ { sub(/:.*/, ""); at[$1] = n + 0; next }
/^[ \t]*\/\*[0-9a-f]+\*\// {
	sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]*/, "")
	sub(/^@!?U?P[0-9T]+[ \t]+/, "")
	op[n] = $1
	if ($1 == "BRA" && match($0, /\.L_[x0-9_]+/))
		to[n] = substr($0, RSTART, RLENGTH)
	n++
}
END {
	for (i = 0; i < n; i++) {
		if (!(i in to) || !(to[i] in at) || at[to[i]] > i)
			continue
		line = sprintf("loop %d", i + 1 - at[to[i]])
		split("", count)
		for (k = at[to[i]]; k <= i; k++)
			count[op[k]]++
		for (name in count)
			line = line " " name " " count[name]
		print line
	}
}
