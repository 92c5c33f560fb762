// Package division shares a whole number among parties in proportion to their
// weights, by the method of highest averages (Webster, Sainte-Laguë): no rounding
// that has to be corrected, and one more to share changes one party's share by one.
package division
