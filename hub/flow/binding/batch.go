package binding

import "sync"

// Sizes of batches. Most bindings have a few clusters, which are all served at once. No more requests for one binding than the largest
// batch run at a time.
const (
	firstBatch = 4
	maxBatch   = 32
)

// inBatches calls do for each item, in batches that double from the first, one batch after the other, and returns the errors by the index
// of the item. It stops after the first batch with a fatal error, that is, one that the following items would have as well. So a template
// that no server accepts costs a handful of requests, not one for each cluster. It returns how many items were tried.
func inBatches[T any](items []T, do func(T) error, fatal func(error) bool) (errs []error, tried int) {
	errs = make([]error, len(items))
	for size := firstBatch; tried < len(items); size = min(2*size, maxBatch) {
		end := min(tried+size, len(items))
		var group sync.WaitGroup
		for i := tried; i < end; i++ {
			group.Go(func() { errs[i] = do(items[i]) })
		}
		group.Wait()
		stop := false
		for _, err := range errs[tried:end] {
			stop = stop || (err != nil && fatal(err))
		}
		tried = end
		if stop {
			break
		}
	}
	return errs, tried
}

// never is the condition for requests that must all be tried.
func never(error) bool { return false }
