package binding

import (
	"context"
	"errors"
	"fmt"
	"sync"

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
	// rendering is held by whoever renders: what a rendering goes by is for one goroutine.
	rendering sync.Mutex
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

// whole has something done with a Work that has its manifest, once there is room for that.
func (m *manifests) whole(ctx context.Context, work *workv1alpha1.Work, do func(*workv1alpha1.Work) error) error {
	gone, isGone := m.dropped[work.Namespace]
	if !isGone {
		gone.size = sizeOf(work)
	}
	release, err := m.acquire(ctx, int64(gone.size))
	if err != nil {
		return fmt.Errorf("waiting to write work %q in %q: %w", work.Name, work.Namespace, err)
	}
	defer release()
	if !isGone {
		return do(work)
	}
	m.rendering.Lock()
	made, err := m.again(ctx, gone.target)
	m.rendering.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRendered, err)
	}
	return do(made)
}

// acquire waits until so many bytes may be written.
func (m *manifests) acquire(ctx context.Context, size int64) (release func(), err error) {
	if size <= freeManifest {
		return func() {}, nil
	}
	size = min(size, maxWritingOne) // what is larger has it to itself
	if err := m.own.Acquire(ctx, size); err != nil {
		return nil, err
	}
	if err := m.all.Acquire(ctx, size); err != nil {
		m.own.Release(size)
		return nil, err
	}
	return func() {
		m.all.Release(size)
		m.own.Release(size)
	}, nil
}

func sizeOf(work *workv1alpha1.Work) int {
	size := 0
	for i := range work.Spec.Workload.Manifests {
		size += len(work.Spec.Workload.Manifests[i].Raw)
	}
	return size
}
