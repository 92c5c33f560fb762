package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/webhook"
)

// Options configure a Store.
type Options struct {
	// Compiler builds the declarative layer.
	Compiler *lua.Compiler
	// Services reads the Services of webhooks.
	Services client.Reader
	// NoWebhooks leaves webhooks out: whoever configures them on the hub determines which addresses this process
	// calls.
	NoWebhooks bool
	// BuiltIn are the layers below, which do not change.
	BuiltIn []interpreter.Interpreter
	// Kept are the sources that an earlier process read; they are used until the first successful read; nil if there
	// are none.
	Kept *Sources
	// Keep is called with the sources that were read, before they are used, never concurrently; it may be nil.
	Keep func(Sources)
}

// Store is an interpreter whose rules change at runtime. It is safe for concurrent use.
type Store struct {
	options Options
	table   atomic.Pointer[table]

	// loaded is closed once the table reflects what the API said.
	loaded chan struct{}

	mu sync.Mutex // held while the table is built
	// refused is Sources.Refused of the last sources.
	refused     bool
	subscribers []func(affects func(schema.GroupVersionKind) bool)
}

// table holds the sources and the layers built from them.
type table struct {
	sources Sources
	hooks   *webhook.Interpreter
	declare *lua.Interpreter
	// versions are the parts from which a kind's version is computed.
	versions []version
	kinds    interpreter.Interpreter
}

// Sources are the objects that the layers are built from, sorted by name.
type Sources struct {
	Customizations []configv1alpha1.ResourceInterpreterCustomization
	Webhooks       []configv1alpha1.ResourceInterpreterWebhookConfiguration
	// Refused says that the API does not let this process read some of them, or does not serve the kind.
	Refused bool
}

// Empty returns whether there are none.
func (s Sources) Empty() bool { return len(s.Customizations) == 0 && len(s.Webhooks) == 0 }

// New returns a Store with the built-in layers and the kept sources.
func New(o Options) *Store {
	s := &Store{options: o, loaded: make(chan struct{})}
	var kept Sources
	if o.Kept != nil {
		kept = *o.Kept
	}
	if o.NoWebhooks {
		kept.Webhooks = nil
	}
	s.refused = kept.Refused
	s.table.Store(s.build(kept, nil))
	return s
}

// Loaded returns a channel that is closed once the API was read and the layers reflect it.
func (s *Store) Loaded() <-chan struct{} { return s.loaded }

// Subscribe implements interpreter.Changing.
func (s *Store) Subscribe(f func(affects func(schema.GroupVersionKind) bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, f)
}

// Load reads all sources and applies the changes.
func (s *Store) Load(ctx context.Context, reader client.Reader) error {
	return s.load(ctx, reader, func(error) bool { return false })
}

// LoadAllowed is Load for an API that may refuse to let this process read one of the kinds, or not serve it: that
// kind then counts as empty.
func (s *Store) LoadAllowed(ctx context.Context, reader client.Reader) error {
	return s.load(ctx, reader, IsRefused)
}

// IsRefused returns whether an API answered that this process may not read a kind, or that it does not serve it.
func IsRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

func (s *Store) load(ctx context.Context, reader client.Reader, ignore func(error) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, err := s.read(ctx, reader, ignore)
	if err != nil {
		return err
	}
	s.refused = read.Refused
	if s.options.Keep != nil {
		s.options.Keep(read)
	}
	s.take(read)
	if !s.isLoaded() {
		close(s.loaded)
	}
	return nil
}

func (s *Store) isLoaded() bool {
	select {
	case <-s.loaded:
		return true
	default:
		return false
	}
}

// take rebuilds the layers if anything changed, and notifies the subscribers.
func (s *Store) take(read Sources) {
	before := s.table.Load()
	change := differences(before.sources, read)
	if change.empty() && sameRules(before.sources.Customizations, read.Customizations) {
		return
	}
	s.table.Store(s.build(read, before))
	if change.empty() {
		return // the customizations were recreated with the same rules
	}
	for _, tell := range s.subscribers {
		tell(change.affects)
	}
}

// read lists all sources. An error that ignore accepts counts as an empty list.
func (s *Store) read(ctx context.Context, reader client.Reader, ignore func(error) bool) (Sources, error) {
	var out Sources
	list := func(of client.ObjectList) error {
		err := reader.List(ctx, of)
		if err != nil && ignore(err) {
			out.Refused, err = true, nil
		}
		return err
	}
	scripts := &configv1alpha1.ResourceInterpreterCustomizationList{}
	if err := list(scripts); err != nil {
		return out, fmt.Errorf("listing ResourceInterpreterCustomizations: %w", err)
	}
	out.Customizations = sortedScripts(scripts.Items)
	if s.options.NoWebhooks {
		return out, nil
	}
	hooks := &configv1alpha1.ResourceInterpreterWebhookConfigurationList{}
	if err := list(hooks); err != nil {
		return out, fmt.Errorf("listing ResourceInterpreterWebhookConfigurations: %w", err)
	}
	out.Webhooks = sortedHooks(hooks.Items)
	return out, nil
}

func sortedScripts(all []configv1alpha1.ResourceInterpreterCustomization) []configv1alpha1.ResourceInterpreterCustomization {
	slices.SortFunc(all, func(a, b configv1alpha1.ResourceInterpreterCustomization) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func sortedHooks(all []configv1alpha1.ResourceInterpreterWebhookConfiguration) []configv1alpha1.ResourceInterpreterWebhookConfiguration {
	slices.SortFunc(all, func(a, b configv1alpha1.ResourceInterpreterWebhookConfiguration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return all
}

// build builds the layers, and reuses those of before whose sources are unchanged.
func (s *Store) build(from Sources, before *table) *table {
	t := &table{sources: from, versions: versions(from)}
	if before != nil && equality.Semantic.DeepEqual(before.sources.Webhooks, from.Webhooks) {
		t.hooks = before.hooks
	} else {
		t.hooks = webhook.New(from.Webhooks, s.options.Services)
		if before != nil {
			before.hooks.Close()
		}
	}
	if before != nil && sameRules(before.sources.Customizations, from.Customizations) {
		t.declare = before.declare
	} else {
		t.declare = s.options.Compiler.Compile(from.Customizations)
	}
	t.kinds = interpreter.Chain(append([]interpreter.Interpreter{t.declare, t.hooks}, s.options.BuiltIn...)...)
	return t
}

// sameRules returns whether nothing changed, except possibly the status, which the hub writes. UID and generation
// count, since reports about failing scripts name them.
func sameRules(a, b []configv1alpha1.ResourceInterpreterCustomization) bool {
	return slices.EqualFunc(a, b, func(x, y configv1alpha1.ResourceInterpreterCustomization) bool {
		return x.Name == y.Name && x.UID == y.UID && x.Generation == y.Generation && equality.Semantic.DeepEqual(x.Spec, y.Spec)
	})
}
