package presence

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// RestoredError says that the hub or the member was restored from an older snapshot of its
// data. What this process knows of it, and its watches, are of a time that never was:
// watches would wait for changes with numbers that are given out again. It has to start
// anew.
type RestoredError struct {
	// Whose data were restored: "hub" or "member".
	Whose string
	// Left is the resourceVersion that was seen last, Found the one of now.
	Left, Found string
}

// Error implements error.
func (e *RestoredError) Error() string {
	return fmt.Sprintf("the %s was restored from an older snapshot: it is at version %s, and was at version %s before", e.Whose, e.Found, e.Left)
}

// Seen is an object of the member as it was seen last.
type Seen struct {
	Kind            schema.GroupVersionKind
	Name            types.NamespacedName
	ResourceVersion string
}

// restoreDetector asks the member now and then for the object that changed last. If it has
// a lower resourceVersion than last seen, the member was restored. The lease tells of the hub.
type restoreDetector struct {
	reader   client.Reader
	newest   func() (Seen, bool)
	interval time.Duration
	clock    clock.Clock
	// missing is the object that the last answer did not have: somebody may have just deleted it.
	missing Seen
}

// Start asks until the context ends, or the member turns out to be restored.
func (d *restoreDetector) Start(ctx context.Context) error {
	for {
		if seen, ok := d.newest(); ok {
			if err := d.compare(ctx, seen); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.clock.After(d.interval):
		}
	}
}

// compare returns an error if an object is older than it was. That the member does not
// answer is the probe's to tell.
func (d *restoreDetector) compare(ctx context.Context, seen Seen) error {
	ctx, cancel := context.WithTimeout(ctx, d.interval)
	defer cancel()
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(seen.Kind)
	err := d.reader.Get(ctx, seen.Name, live)
	switch {
	case err == nil && contract.Older(live.ResourceVersion, seen.ResourceVersion):
		return &RestoredError{Whose: "member", Left: seen.ResourceVersion, Found: live.ResourceVersion}
	case apierrors.IsNotFound(err) && d.missing == seen: // and nobody was told that it was deleted
		return &RestoredError{Whose: "member", Left: seen.ResourceVersion, Found: "unknown"}
	case apierrors.IsNotFound(err):
		d.missing = seen
	default:
		d.missing = Seen{}
	}
	return nil
}
