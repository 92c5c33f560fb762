package execution

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// boundedReader makes reads only if there is room for them; otherwise they fail with errNoRoom. Like a write, a read
// may hang in the conversion webhook of its kind, or in an aggregated API server.
type boundedReader struct {
	client.Reader

	slow *slowRequests
}

// Get implements client.Reader.
func (b boundedReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	at := place{GroupKind: obj.GetObjectKind().GroupVersionKind().GroupKind(), namespace: key.Namespace, act: actRead}
	return b.slow.do(ctx, at, func() error { return b.Reader.Get(ctx, key, obj, opts...) })
}

// List implements client.Reader.
func (b boundedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	of := (&client.ListOptions{}).ApplyOptions(opts)
	kind := list.GetObjectKind().GroupVersionKind().GroupKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return b.slow.do(ctx, place{GroupKind: kind, namespace: of.Namespace, act: actRead}, func() error { return b.Reader.List(ctx, list, opts...) })
}

// boundedClient makes requests only if there is room for them; otherwise they fail with errNoRoom.
type boundedClient struct {
	client.Client

	slow *slowRequests
}

// Get implements client.Client.
func (b boundedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return boundedReader{Reader: b.Client, slow: b.slow}.Get(ctx, key, obj, opts...)
}

// List implements client.Client.
func (b boundedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return boundedReader{Reader: b.Client, slow: b.slow}.List(ctx, list, opts...)
}

// Apply implements client.Client.
func (b boundedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	write := func() error { return b.Client.Apply(ctx, obj, opts...) }
	named, ok := obj.(interface {
		GroupVersionKind() schema.GroupVersionKind
		GetNamespace() string
	})
	if !ok { // all objects applied here are unstructured
		return write()
	}
	return b.slow.do(ctx, place{GroupKind: named.GroupVersionKind().GroupKind(), namespace: named.GetNamespace(), act: actWrite}, write)
}

// Patch implements client.Client.
func (b boundedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return b.slow.do(ctx, placeOf(obj, actWrite), func() error { return b.Client.Patch(ctx, obj, patch, opts...) })
}

// Delete implements client.Client.
func (b boundedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return b.slow.do(ctx, placeOf(obj, actDelete), func() error { return b.Client.Delete(ctx, obj, opts...) })
}

func placeOf(obj client.Object, does act) place {
	return place{GroupKind: obj.GetObjectKind().GroupVersionKind().GroupKind(), namespace: obj.GetNamespace(), act: does}
}
