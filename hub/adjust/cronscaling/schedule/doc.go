// Package schedule decides which rules of a CronFederatedHPA are due, which of their times went by while
// no hub worked, and when each is due next; and it keeps the histories of what came of them. It has no
// clock: the time is given.
package schedule
