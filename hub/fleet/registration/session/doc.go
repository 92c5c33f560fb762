// Package session tells an agent that was started again from two agents that pass for the
// same member. It only thinks.
//
// Each agent process has a session. A process that was started again takes the place of
// the one before it, which is never heard from again. When sessions come back after
// others took their place, there are several at once: the disk of a machine was copied,
// with all that makes its agent what it is.
package session
