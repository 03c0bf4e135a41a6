#!/bin/sh
# Makes the answers of TestWeka: the probabilities that Weka 3.6.14 (Debian's package weka, and Java) gives every class,
# for the rows of *-asked.arff after it has learned those of *-learned.arff. `go test -run TestWeka -weka-tables .`
# writes the tables, iris apart (R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of
# Eugenics 7, 1936), which is split likewise.
set -eu
jar=${WEKA:-/usr/share/java/weka.jar}
cd "$(dirname "$0")"

# answers TABLE NAME LEARNER OPTION...
answers() {
	table=$1 name=$2
	shift 2
	java -cp "$jar" "$@" -t "$table-learned.arff" -T "$table-asked.arff" -p 0 -distribution |
		awk '$1 ~ /^[0-9]+$/ { gsub(/\*/, "", $NF); print $NF }' >"$table-$name.txt"
}

# forests TABLE: of 20 seeds, how many rows are right, and the mean probability of a row's own class.
forests() {
	table=$1
	for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		java -cp "$jar" weka.classifiers.trees.RandomForest -I 10 -S $seed -t "$table-learned.arff" \
			-T "$table-asked.arff" -p 0 -distribution |
			awk '$1 ~ /^[0-9]+$/ { split($2, own, ":"); split($3, said, ":"); gsub(/\*/, "", $NF); split($NF, p, ",")
				right += own[1] == said[1]; sum += p[own[1]]; rows++ }
				END { printf "%d %.4f\n", right, sum / rows }'
	done >"$table-RandomForest.txt"
}

for table in numbers mixed words noise iris; do
	answers $table ZeroR weka.classifiers.rules.ZeroR
	answers $table NaiveBayes weka.classifiers.bayes.NaiveBayes
	answers $table J48 weka.classifiers.trees.J48 -C 0.25 -M 2
	answers $table J48-C0.1-M5 weka.classifiers.trees.J48 -C 0.1 -M 5
	answers $table J48-U weka.classifiers.trees.J48 -U
	answers $table IBk1 weka.classifiers.lazy.IBk -K 1
	answers $table IBk5 weka.classifiers.lazy.IBk -K 5
	answers $table Logistic weka.classifiers.functions.Logistic -R 1e-8
	forests $table
	answers $table SMO weka.classifiers.functions.SMO -C 1
done
