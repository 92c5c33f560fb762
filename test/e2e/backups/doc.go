// Package backups has a hub with a member make backups by itself, kills it in the middle of one, loses it with all that it had, and
// makes it again from a sealed backup, with real programs.
package backups
