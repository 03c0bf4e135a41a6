// Package learn predicts from examples: which class a row of features belongs to, and with what probability.
//
// A Table has the examples. A learner makes a Classifier of a table, deterministically: equal tables make equal
// classifiers. ZeroR knows the most frequent class alone, and is what every other has to beat; Bayes is naive Bayes;
// Neighbours are the k nearest; C45 is a pruned decision tree. Their predictions are those of Weka 3.6.14, which the
// papers used (Garvey and Abdelrahman 2018; Cummins et al. 2018): tests compare every probability, and
// testdata/weka.sh makes the answers. Logistic and SVM, a linear support vector machine, find an optimum by methods
// of their own, and agree with Weka on the class of 99 rows in 100. A ClassForest draws at random, and 20 of them are
// like 20 of Weka's.
//
// Trees for classes ask by gain ratio (C45) or entropy (ClassForest), and both by another Impurity if one is named:
// entropy, -sum(p*log2(p)) for shares p of the classes, or Gini, 1-sum(p*p) (Breiman, Friedman, Olshen and Stone,
// Classification and Regression Trees, 1984).
//
// Numbers are examples of a number in place of a class: a Forest or Boosted trees predict those, and the Nearest along
// principal components (PCA).
package learn
