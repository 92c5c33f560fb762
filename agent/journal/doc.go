// Package journal keeps a copy of the member's Works and of the hub's interpreter customizations on local disk, so
// that an agent that starts while the hub is unreachable can go on enforcing them. It also records the kinds that
// were ever applied, so that objects of ended Works are found when they reappear (after the member was restored from
// a backup, say), and the objects of ended Works whose deletion has not finished, so that they are still reported
// after a restart.
//
// Reads and writes: its own directory.
// Owns: every file in that directory.
// Invariant: a file holds one complete version of a Work, or of all customizations, or it is not used. It is never
// older than what the agent acted on, except that a power loss may undo the writes of the last second; it never
// undoes a write about a Work that is being deleted. If a newer version cannot be written, the older file is removed:
// leaving objects as they are is better than reverting them. If the removal fails too, Put reports it and it is
// retried. The list of kinds and the list of pending deletions are best effort: they stay outdated while they cannot
// be written, and the latter lags by some seconds.
// Next: package execution, which writes before it acts, and reads while there is no hub.
//
// No file in the directory and no disk error stops the agent, with one exception: a journal that is sealed with
// another key, or that is not sealed although the agent has a key. That is a mistake of whoever started the agent
// rather than damage, so the commands call CheckSeal first and leave such a journal untouched.
package journal
