// Package spread selects clusters so that an application is on as many regions,
// zones, providers, values of a label and clusters as its constraints say.
//
// Sets of groups are tried in order of preference, the smallest first, and the first
// that holds the application is taken. So a wish for at least two regions is met with
// two, and with more only if two have not enough clusters or not enough room.
package spread
