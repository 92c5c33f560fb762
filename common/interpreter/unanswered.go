package interpreter

import "errors"

// errUnanswered marks the errors that Unanswered returns.
var errUnanswered = errors.New("there is no answer")

// unansweredError is an error that matches errUnanswered and keeps the text of another.
type unansweredError struct{ error }

// Unwrap returns the cause.
func (e unansweredError) Unwrap() error { return e.error }

// Is implements the matching of errors.Is.
func (unansweredError) Is(target error) bool { return target == errUnanswered }

// Unanswered marks an error as saying that somebody else, such as a webhook, was asked and did not answer: it says
// nothing about the object, and the same question may be answered later.
func Unanswered(err error) error { return unansweredError{err} }

// IsUnanswered returns whether an error was marked by Unanswered. The caller should not ask the next question
// immediately.
func IsUnanswered(err error) bool { return errors.Is(err, errUnanswered) }
