package interpreter

import "errors"

// errExceeded marks the errors that Exceeded returns.
var errExceeded = errors.New("a rule uses too much")

// exceededError is an error that says so, in the words of another.
type exceededError struct{ error }

// Unwrap lets others see why.
func (e exceededError) Unwrap() error { return e.error }

// Is says that it is one.
func (exceededError) Is(target error) bool { return target == errExceeded }

// Exceeded returns an error which says that a rule used more time or memory than it may: less of what it was asked about may do.
func Exceeded(err error) error { return exceededError{err} }

// IsExceeded says whether an error is one of those. Each further question like it may take as long.
func IsExceeded(err error) bool { return errors.Is(err, errExceeded) }
