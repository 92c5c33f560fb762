package interpreter

import "errors"

// errExceeded marks the errors that Exceeded returns.
var errExceeded = errors.New("a rule uses too much")

// exceededError is an error that matches errExceeded and keeps the text of another.
type exceededError struct{ error }

// Unwrap returns the cause.
func (e exceededError) Unwrap() error { return e.error }

// Is implements the matching of errors.Is.
func (exceededError) Is(target error) bool { return target == errExceeded }

// Exceeded marks an error as saying that a rule used more time or memory than allowed: with a smaller input it may
// succeed.
func Exceeded(err error) error { return exceededError{err} }

// IsExceeded returns whether an error was marked by Exceeded. Each further question of the same size may take as
// long.
func IsExceeded(err error) bool { return errors.Is(err, errExceeded) }
