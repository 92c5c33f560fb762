// Package prose formats texts for people: how long they may be, how names are listed, and how texts of unknown origin
// are made safe to show.
package prose
