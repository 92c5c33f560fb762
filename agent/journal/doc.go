// Package journal keeps the last Works that the agent saw on local disk, and what the hub said last that kinds mean, so that an agent
// that starts while the hub cannot be reached goes on with them.
//
// Reads and writes: one directory, which is its own.
// Owns: every file in it.
// Invariant: a file is a whole version of a Work, or of all rules, or it is not used; it is never older than
// what the agent acted upon, save that a loss of power may take back what was written within the last second,
// but nothing of what was to be deleted. Where a newer version cannot be written, the older one is
// removed: to leave objects as they are is better than to take them back to what they were.
// Where that fails as well, Put says so, and it is tried again.
// Next: package execution, which writes before it acts and reads while there is no hub.
//
// Nothing that is found in the directory or happens to the disk stops the agent, but a journal that is sealed with another key than the
// agent has, or is not sealed although there is one: that is no damage but a mistake of whoever started the agent, so the commands ask
// CheckSeal first and leave what is there as it is.
package journal
