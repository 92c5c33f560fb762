package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/webhook"
)

// Options say what a store is made of.
type Options struct {
	// Compiler makes the declarative layer.
	Compiler *lua.Compiler
	// Services finds the Services of webhooks.
	Services client.Reader
	// NoWebhooks leaves the webhooks out: whoever may configure them on the hub says which
	// addresses this process calls.
	NoWebhooks bool
	// BuiltIn are the layers below, which do not change.
	BuiltIn []interpreter.Interpreter
}

// Store is an interpreter whose rules change. It is safe for use by many goroutines.
type Store struct {
	options Options
	table   atomic.Pointer[table]

	mu          sync.Mutex // held while the table is made
	subscribers []func(affects func(schema.GroupVersionKind) bool)
}

// table is what the layers are made of, and the layers.
type table struct {
	sources sources
	hooks   *webhook.Interpreter
	declare *lua.Interpreter
	// versions are what the version of a kind is made of.
	versions []version
	kinds    interpreter.Interpreter
}

// sources are the objects that the layers are made of, by name.
type sources struct {
	customizations []configv1alpha1.ResourceInterpreterCustomization
	webhooks       []configv1alpha1.ResourceInterpreterWebhookConfiguration
}

// New returns a store that knows only what is built in.
func New(o Options) *Store {
	s := &Store{options: o}
	s.table.Store(s.build(sources{}, nil))
	return s
}

// Subscribe implements interpreter.Changing.
func (s *Store) Subscribe(f func(affects func(schema.GroupVersionKind) bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, f)
}

// Load reads everything and takes over what changed.
func (s *Store) Load(ctx context.Context, reader client.Reader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, err := s.read(ctx, reader)
	if err != nil {
		return err
	}
	before := s.table.Load()
	change := differences(before.sources, read)
	if change.empty() && sameRules(before.sources.customizations, read.customizations) {
		return nil
	}
	s.table.Store(s.build(read, before))
	if change.empty() {
		return nil // the same answers, from customizations that were made anew
	}
	for _, tell := range s.subscribers {
		tell(change.affects)
	}
	return nil
}

func (s *Store) read(ctx context.Context, reader client.Reader) (sources, error) {
	var out sources
	scripts := &configv1alpha1.ResourceInterpreterCustomizationList{}
	if err := reader.List(ctx, scripts); err != nil {
		return out, fmt.Errorf("listing ResourceInterpreterCustomizations: %w", err)
	}
	out.customizations = scripts.Items
	slices.SortFunc(out.customizations, func(a, b configv1alpha1.ResourceInterpreterCustomization) int {
		return cmp.Compare(a.Name, b.Name)
	})
	if s.options.NoWebhooks {
		return out, nil
	}
	hooks := &configv1alpha1.ResourceInterpreterWebhookConfigurationList{}
	if err := reader.List(ctx, hooks); err != nil {
		return out, fmt.Errorf("listing ResourceInterpreterWebhookConfigurations: %w", err)
	}
	out.webhooks = hooks.Items
	slices.SortFunc(out.webhooks, func(a, b configv1alpha1.ResourceInterpreterWebhookConfiguration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return out, nil
}

// build makes the layers, and takes those over from before whose sources are the same.
func (s *Store) build(from sources, before *table) *table {
	t := &table{sources: from, versions: versions(from)}
	if before != nil && equality.Semantic.DeepEqual(before.sources.webhooks, from.webhooks) {
		t.hooks = before.hooks
	} else {
		t.hooks = webhook.New(from.webhooks, s.options.Services)
		if before != nil {
			before.hooks.Close()
		}
	}
	if before != nil && sameRules(before.sources.customizations, from.customizations) {
		t.declare = before.declare
	} else {
		t.declare = s.options.Compiler.Compile(from.customizations)
	}
	t.kinds = interpreter.Chain(append([]interpreter.Interpreter{t.declare, t.hooks}, s.options.BuiltIn...)...)
	return t
}

// sameRules says whether nothing changed but, perhaps, what the hub writes. Who is told that a script fails
// is told of which object and generation it is.
func sameRules(a, b []configv1alpha1.ResourceInterpreterCustomization) bool {
	return slices.EqualFunc(a, b, func(x, y configv1alpha1.ResourceInterpreterCustomization) bool {
		return x.Name == y.Name && x.UID == y.UID && x.Generation == y.Generation && equality.Semantic.DeepEqual(x.Spec, y.Spec)
	})
}
