package customizations

import (
	"sync"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/lua"
)

// Failures are the first failures of customizations, each until its customization
// changes or another has its name: what fails once fails for every object, and again. It is safe for use by many
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

// onFirst has wake called when a customization fails for the first time.
func (f *Failures) onFirst(wake func(customization string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = wake
}

// of returns the failure of a customization as it is now.
func (f *Failures) of(one *configv1alpha1.ResourceInterpreterCustomization) (lua.Failure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failure, ok := f.first[one.Name]
	return failure, ok && failure.UID == one.UID && failure.Generation == one.Generation
}

// forget drops what is known of a customization that is gone.
func (f *Failures) forget(customization string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.first, customization)
}
