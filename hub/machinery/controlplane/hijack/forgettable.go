package hijack

import (
	"context"
	"sync/atomic"
	"time"
)

// forgettableContext is a child context that can drop its parent's values.
type forgettableContext struct {
	done <-chan struct{}
	of   atomic.Pointer[context.Context]
}

func newForgettableContext(of context.Context) *forgettableContext {
	f := &forgettableContext{done: of.Done()}
	f.of.Store(&of)
	return f
}

func (f *forgettableContext) forget() { f.of.Store(nil) }

// Deadline implements context.Context.
func (f *forgettableContext) Deadline() (time.Time, bool) {
	if of := f.of.Load(); of != nil {
		return (*of).Deadline()
	}
	return time.Time{}, false
}

// Done implements context.Context.
func (f *forgettableContext) Done() <-chan struct{} { return f.done }

// Err implements context.Context.
func (f *forgettableContext) Err() error {
	if of := f.of.Load(); of != nil {
		return (*of).Err()
	}
	select {
	case <-f.done:
		return context.Canceled
	default:
		return nil
	}
}

// Value implements context.Context.
func (f *forgettableContext) Value(key any) any {
	if of := f.of.Load(); of != nil {
		return (*of).Value(key)
	}
	return nil
}
