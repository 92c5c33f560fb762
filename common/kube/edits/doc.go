// Package edits lets stages coordinate about edits of templates: which edits the detector has seen, so that none is
// sent out before its policy and RolloutStrategy are known, and what is reported about an edit that waits for that.
package edits
