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

// Watch is how far a watch of the member has come.
type Watch struct {
	Kind schema.GroupVersionKind
	// Namespace is the one that is watched; empty if all are.
	Namespace       string
	ResourceVersion string
}

// restoreDetector asks the member now and then for the object that changed last, and how far it
// is. If either has a lower resourceVersion than last seen, the member was restored. An object alone
// does not tell: a watch goes on with the changes of others, and would be deaf until the member has come
// as far again, while what changed last is as it was in the snapshot. The lease tells of the hub.
type restoreDetector struct {
	reader   client.Reader
	newest   func() (Seen, bool)
	furthest func() (Watch, bool)
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
		if watch, ok := d.furthest(); ok {
			if err := d.compareWatch(ctx, watch); err != nil {
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

// compareWatch returns an error if the member is not as far as a watch of it has come. A list for which no version is named
// is of now.
func (d *restoreDetector) compareWatch(ctx context.Context, watch Watch) error {
	ctx, cancel := context.WithTimeout(ctx, d.interval)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(watch.Kind.GroupVersion().WithKind(watch.Kind.Kind + "List"))
	err := d.reader.List(ctx, list, client.InNamespace(watch.Namespace), client.Limit(1))
	if err == nil && contract.Older(list.ResourceVersion, watch.ResourceVersion) {
		return &RestoredError{Whose: "member", Left: watch.ResourceVersion, Found: list.ResourceVersion}
	}
	return nil
}
