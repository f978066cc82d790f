#!/bin/sh
# Turns the FIGURE lines of the tests into one Markdown table. Fields: area,
# what, figure, goal, beside.
awk -F'\t' '
/FIGURE\t/ { sub(/^.*FIGURE\t/, ""); n++; rows[n] = $0; next }
/^(---|===) FAIL|^FAIL|panic:/ { print > "/dev/stderr" }
END {
	print "| area | what | figure | goal | beside |"
	print "| --- | --- | --- | --- | --- |"
	for (i = 1; i <= n; i++) { split(rows[i], f, "\t"); printf "| %s | %s | %s | %s | %s |\n", f[1], f[2], f[3], f[4], f[5] }
}'
