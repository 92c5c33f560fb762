package customizations

import (
	"sync"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/lua"
)

// Failures has the first failure of each customization, until it changes or is replaced: a failing script fails for
// every object, repeatedly. It is safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	first map[string]lua.Failure
	wake  func(customization string)
}

// NewFailures returns an empty Failures.
func NewFailures() *Failures { return &Failures{first: map[string]lua.Failure{}} }

// Record records a failure. It does not block.
func (f *Failures) Record(failure lua.Failure) {
	f.mu.Lock()
	known, ok := f.first[failure.Customization]
	isFirst := !ok || known.UID != failure.UID || known.Generation < failure.Generation
	if isFirst {
		f.first[failure.Customization] = failure
	}
	wake := f.wake
	f.mu.Unlock()
	if isFirst && wake != nil {
		wake(failure.Customization)
	}
}

// onFirst sets a function that is called when a customization fails for the first time.
func (f *Failures) onFirst(wake func(customization string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = wake
}

// of returns the failure of the current generation of a customization.
func (f *Failures) of(one *configv1alpha1.ResourceInterpreterCustomization) (lua.Failure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failure, ok := f.first[one.Name]
	return failure, ok && failure.UID == one.UID && failure.Generation == one.Generation
}

// forget drops the failure of a deleted customization.
func (f *Failures) forget(customization string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.first, customization)
}
