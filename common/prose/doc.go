// Package prose is about texts for people: how long they may be, how names are listed, and what of a text that others
// wrote is shown as it is.
package prose
