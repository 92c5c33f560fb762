// Package division divides a whole number among parties in proportion to their weights, by the method of highest
// averages (Webster, Sainte-Laguë): there is no rounding to correct, and one more to divide changes one party's share
// by one.
package division
