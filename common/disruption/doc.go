// Package disruption says since when clusters are silent, and when the hub had better suspect
// itself: if most members fall silent at once, it is more likely that the hub has lost its network
// than that they have all failed.
package disruption
