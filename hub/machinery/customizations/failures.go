package customizations

import (
	"sync"

	"fairlead.dev/common/interpreter/lua"
)

// Failures are the first failures of customizations, each until its customization
// changes: what fails once fails for every object, and again. It is safe for use by many
// goroutines.
type Failures struct {
	mu    sync.Mutex
	first map[string]lua.Failure
	wake  func(customization string)
}

// NewFailures returns that there are none.
func NewFailures() *Failures { return &Failures{first: map[string]lua.Failure{}} }

// Record takes a failure. It does not wait.
func (f *Failures) Record(failure lua.Failure) {
	f.mu.Lock()
	known, ok := f.first[failure.Customization]
	isFirst := !ok || known.Generation < failure.Generation
	if isFirst {
		f.first[failure.Customization] = failure
	}
	wake := f.wake
	f.mu.Unlock()
	if isFirst && wake != nil {
		wake(failure.Customization)
	}
}

// onFirst has wake called when a customization fails for the first time.
func (f *Failures) onFirst(wake func(customization string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = wake
}

// of returns the failure of a generation of a customization.
func (f *Failures) of(customization string, generation int64) (lua.Failure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failure, ok := f.first[customization]
	return failure, ok && failure.Generation == generation
}

// forget drops what is known of a customization that is gone.
func (f *Failures) forget(customization string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.first, customization)
}
