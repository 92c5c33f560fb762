package interpreter

import "errors"

// errUnanswered marks the errors that Unanswered returns.
var errUnanswered = errors.New("there is no answer")

// unansweredError is an error that says so, in the words of another.
type unansweredError struct{ error }

// Unwrap lets others see why.
func (e unansweredError) Unwrap() error { return e.error }

// Is says that it is one.
func (unansweredError) Is(target error) bool { return target == errUnanswered }

// Unanswered returns an error which says that somebody else was asked and gave no answer: it says nothing of the object, and the
// same question may be answered another time.
func Unanswered(err error) error { return unansweredError{err} }

// IsUnanswered says whether an error is one of those. Who gets it had better not ask the next question at once.
func IsUnanswered(err error) bool { return errors.Is(err, errUnanswered) }
