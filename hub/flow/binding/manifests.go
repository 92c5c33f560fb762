package binding

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// A manifest may have more than a megabyte, and a binding thousands of clusters, so a binding does not keep everything that it renders. The
// plan is made from hashes, with the manifests dropped. When a Work is written, its manifest is rendered again. So the order of writes does
// not depend on sizes, and the memory does not depend on the number of clusters.
const (
	// maxKept is how many bytes of manifests a binding keeps from planning to writing. That is enough for most bindings, which are rendered
	// once.
	maxKept = 1 << 20
	// maxWriting is how many bytes of manifests are written at a time over all bindings, and maxWritingOne how many of those may be of one
	// binding, so that others do not wait for all of a large one. With requests and responses, each byte is in memory about six times.
	maxWriting    = 16 << 20
	maxWritingOne = 4 << 20
	// freeManifest is the size up to which a manifest need not wait. Their number is limited by the workers and the requests in a batch.
	freeManifest = 16 << 10
)

// errNotRendered means that a Work could not be rendered again for writing, which only affects its cluster.
var errNotRendered = errors.New("rendering it again to write it")

// manifests provides the manifests of the Works of one rendering, as many at a time as the limits allow. The zero value is for a rendering
// without Works.
type manifests struct {
	// all is the limit over all bindings, and own that of this one.
	all, own *semaphore.Weighted
	// kept is the size of the manifests that are kept, in bytes.
	kept int
	// dropped are the Works whose manifests were dropped, by namespace.
	dropped map[string]dropped
	// again renders a target again; nil if its Work must stay as it is after all.
	again func(ctx context.Context, target workv1alpha2.TargetCluster) (*workv1alpha1.Work, error)
	// turn is held during a rendering, whose input is not safe for concurrent use.
	turn *semaphore.Weighted
}

// dropped is a Work without its manifest.
type dropped struct {
	// target is the rendered target, with its replicas, and size the size of the manifest.
	target workv1alpha2.TargetCluster
	size   int
}

// add adds the Work of a target, and drops its manifest unless there is room to keep it.
func (m *manifests) add(work *workv1alpha1.Work, target workv1alpha2.TargetCluster) {
	size := sizeOf(work)
	if m.kept+size <= maxKept {
		m.kept += size
		return
	}
	m.dropped[work.Namespace] = dropped{target: target, size: size}
	work.Spec.Workload.Manifests = nil
}

// sizeOf returns the size of a Work's manifest in bytes, even if it was dropped.
func (m *manifests) sizeOf(work *workv1alpha1.Work) int {
	if gone, isGone := m.dropped[work.Namespace]; isGone {
		return gone.size
	}
	return sizeOf(work)
}

// whole calls do with a Work and its manifest, once the limits allow it.
func (m *manifests) whole(ctx context.Context, work *workv1alpha1.Work, do func(*workv1alpha1.Work) error) error {
	gone, isGone := m.dropped[work.Namespace]
	gone.size = m.sizeOf(work)
	if gone.size > freeManifest {
		size := int64(min(gone.size, maxWritingOne)) // a larger one uses the whole limit
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

// made returns a Work with its manifest, and its share of the limit over all bindings, which must be released. Renderings may take long and
// run one at a time. So a caller that waits for its turn holds no share, and one that holds a share waits for nothing.
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
