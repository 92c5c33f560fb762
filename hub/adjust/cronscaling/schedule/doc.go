// Package schedule decides which rules of a CronFederatedHPA are due, which of their times were missed while no hub
// worked, and when each is due next. It also maintains the execution histories. It is pure: the time is an input.
package schedule
