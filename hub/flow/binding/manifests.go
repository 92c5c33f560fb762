package binding

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// A manifest may have more than a megabyte and a binding thousands of clusters, so a binding does not hold all that it renders. What is to be
// done is decided by hashes, with the manifests dropped; for a Work that is written the manifest is made once more, when it is its turn. So
// the order of writes does not depend on sizes, and what is held at once not on the number of clusters.
const (
	// maxKept is how many bytes of manifests a binding keeps from deciding to writing: all of most bindings, which are rendered once.
	maxKept = 1 << 20
	// maxWriting is how many bytes of manifests are written at a time for all bindings, and maxWritingOne how many of those may be of one:
	// what else is to be written does not wait behind all of a large one. In requests and answers each byte is there some six times.
	maxWriting    = 16 << 20
	maxWritingOne = 4 << 20
	// freeManifest is the size up to which a manifest does not wait: its number is bounded by those of workers and of requests in a batch.
	freeManifest = 16 << 10
)

// errNotRendered says that a Work could not be rendered again to be written, which is about its cluster alone.
var errNotRendered = errors.New("rendering it again to write it")

// manifests hands out the manifests of the Works of one rendering, as many at a time as there is room for. The zero value is that of
// a rendering without Works.
type manifests struct {
	// all is the room of all bindings, and own that of this one.
	all, own *semaphore.Weighted
	// kept is how many bytes are kept.
	kept int
	// dropped are the Works that have no manifest any more, by namespace.
	dropped map[string]dropped
	// again renders for a target; nil if its Work is to stay as it is, after all.
	again func(ctx context.Context, target workv1alpha2.TargetCluster) (*workv1alpha1.Work, error)
	// turn is taken by whoever renders: what a rendering goes by is for one goroutine.
	turn *semaphore.Weighted
}

// dropped is a Work without its manifest.
type dropped struct {
	// target is what it was rendered for, with the replicas that it was given, and size what its manifest had.
	target workv1alpha2.TargetCluster
	size   int
}

// add takes a Work that was rendered for a target, and drops its manifest unless there is room to keep it.
func (m *manifests) add(work *workv1alpha1.Work, target workv1alpha2.TargetCluster) {
	size := sizeOf(work)
	if m.kept+size <= maxKept {
		m.kept += size
		return
	}
	m.dropped[work.Namespace] = dropped{target: target, size: size}
	work.Spec.Workload.Manifests = nil
}

// sizeOf is how many bytes the manifest of a Work has, dropped or not.
func (m *manifests) sizeOf(work *workv1alpha1.Work) int {
	if gone, isGone := m.dropped[work.Namespace]; isGone {
		return gone.size
	}
	return sizeOf(work)
}

// whole has something done with a Work that has its manifest, once there is room for that.
func (m *manifests) whole(ctx context.Context, work *workv1alpha1.Work, do func(*workv1alpha1.Work) error) error {
	gone, isGone := m.dropped[work.Namespace]
	gone.size = m.sizeOf(work)
	if gone.size > freeManifest {
		size := int64(min(gone.size, maxWritingOne)) // what is larger has it to itself
		if err := m.own.Acquire(ctx, size); err != nil {
			return notWritten(work, err)
		}
		defer m.own.Release(size)
	}
	made, release, err := m.made(ctx, work, gone, isGone)
	if err != nil {
		return err
	}
	defer release()
	return do(made)
}

// made returns a Work that has its manifest, with the room that it takes of all, which is to be released. A rendering may take long, and is one
// at a time: whoever waits for its turn has no such room, and who has it waits for nobody else.
func (m *manifests) made(ctx context.Context, work *workv1alpha1.Work, gone dropped, isGone bool) (_ *workv1alpha1.Work, release func(), err error) {
	if isGone {
		if err := m.turn.Acquire(ctx, 1); err != nil {
			return nil, nil, notWritten(work, err)
		}
		defer m.turn.Release(1)
	}
	release = func() {}
	if gone.size > freeManifest {
		size := int64(min(gone.size, maxWritingOne))
		if err := m.all.Acquire(ctx, size); err != nil {
			return nil, nil, notWritten(work, err)
		}
		release = func() { m.all.Release(size) }
	}
	if !isGone {
		return work, release, nil
	}
	out, err := m.again(ctx, gone.target)
	if err != nil {
		release()
		return nil, nil, fmt.Errorf("%w: %w", errNotRendered, err)
	}
	return out, release, nil
}

func notWritten(work *workv1alpha1.Work, err error) error {
	return fmt.Errorf("waiting to write work %q in %q: %w", work.Name, work.Namespace, err)
}

func sizeOf(work *workv1alpha1.Work) int {
	size := 0
	for i := range work.Spec.Workload.Manifests {
		size += len(work.Spec.Workload.Manifests[i].Raw)
	}
	return size
}
