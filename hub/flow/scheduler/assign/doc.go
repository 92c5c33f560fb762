// Package assign says which of the clusters that fit get an application, and how many replicas
// each of them gets.
//
// They are scored, and selected so that the application is on as many regions, zones,
// providers, values of a label and clusters as its constraints say: sets of groups are tried in
// order of preference, the smallest first, and the first that holds the application is taken.
// So a wish for at least two regions is met with two, and with more only if two have not enough
// clusters or not enough room. Then the replicas are shared among those that are selected.
package assign
