// Package disruption determines since when clusters have been silent, and when the hub has to suspect itself: if most
// members fall silent at once, it is more likely that the hub has lost its network than that they have all failed.
package disruption
