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
	"fairlead.dev/common/kube"
)

// RestoredError says that the hub or the member was restored from an older snapshot. The caches and watches of this
// process then refer to a history that no longer exists: a watch would wait for resourceVersions that are assigned a
// second time. The process has to restart.
type RestoredError struct {
	// Whose names the API whose data were restored: "hub" or "member".
	Whose string
	// Left is the resourceVersion last seen, Found the present one.
	Left, Found string
}

// Error implements error.
func (e *RestoredError) Error() string {
	return fmt.Sprintf("the %s was restored from an older snapshot: it is at version %s, and was at version %s before", e.Whose, e.Found, e.Left)
}

// Seen is an object of the member with the resourceVersion that the agent saw last.
type Seen struct {
	Kind            schema.GroupVersionKind
	Name            types.NamespacedName
	ResourceVersion string
}

// Watch is a watch of the member with the resourceVersion that it has reached.
type Watch struct {
	Kind schema.GroupVersionKind
	// Namespace is the watched namespace; empty for all.
	Namespace       string
	ResourceVersion string
}

// restoreDetector regularly asks the member for the object that changed last, and for its latest resourceVersion. If
// either is lower than last seen, the member was restored. The object alone is not enough: it may be in the snapshot
// unchanged, while a watch has gone on to later resourceVersions and would receive nothing until the member reaches
// them again. The member's previous answer counts like a watch of that kind, in case none is running. The
// leaseRenewer does the same for the hub.
type restoreDetector struct {
	reader   client.Reader
	newest   func() (Seen, bool)
	furthest func() (Watch, bool)
	interval time.Duration
	clock    clock.Clock
	// missing is the object that was not found last time; it may just have been deleted.
	missing Seen
	// answered is the member's latest resourceVersion when it was last asked.
	answered Watch
}

// Start checks the member until the context ends, or returns a RestoredError.
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

// compare returns an error if an object is older than it was. Other failures are ignored: the health probe reports a
// member that does not answer.
func (d *restoreDetector) compare(ctx context.Context, seen Seen) error {
	ctx, cancel := context.WithTimeout(ctx, d.interval)
	defer cancel()
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(seen.Kind)
	err := d.reader.Get(ctx, seen.Name, live)
	switch {
	case err == nil && contract.Older(live.ResourceVersion, seen.ResourceVersion):
		return &RestoredError{Whose: "member", Left: seen.ResourceVersion, Found: live.ResourceVersion}
	case kube.IsNoSuchResource(err): // the kind's definition was deleted; its watch may report that later
		d.missing = Seen{}
	case apierrors.IsNotFound(err) && d.missing == seen: // twice not found, and no watch event said that it was deleted
		return &RestoredError{Whose: "member", Left: seen.ResourceVersion, Found: "unknown"}
	case apierrors.IsNotFound(err):
		d.missing = seen
	default:
		d.missing = Seen{}
	}
	return nil
}

// compareWatch returns an error if the member's resourceVersion is lower than that of a watch. A list without a
// resourceVersion returns the latest.
func (d *restoreDetector) compareWatch(ctx context.Context, watch Watch) error {
	if last := d.answered; last.Kind == watch.Kind && last.Namespace == watch.Namespace && contract.Older(watch.ResourceVersion, last.ResourceVersion) {
		watch = last
	}
	ctx, cancel := context.WithTimeout(ctx, d.interval)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(watch.Kind.GroupVersion().WithKind(watch.Kind.Kind + "List"))
	err := d.reader.List(ctx, list, client.InNamespace(watch.Namespace), client.Limit(1))
	switch {
	case err != nil:
	case contract.Older(list.ResourceVersion, watch.ResourceVersion):
		return &RestoredError{Whose: "member", Left: watch.ResourceVersion, Found: list.ResourceVersion}
	default:
		d.answered = Watch{Kind: watch.Kind, Namespace: watch.Namespace, ResourceVersion: list.ResourceVersion}
	}
	return nil
}
