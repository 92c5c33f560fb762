package setup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/rules"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/store"
)

// interpreters returns the interpreter: the hub's rules take precedence over the built-in ones. If the hub cannot be
// reached now, the rules that it last sent hold until it can. Webhooks are called from the member's side, with the
// member's Services. An agent that is confined to namespaces calls none, since a webhook may be at any address.
func interpreters(
	ctx context.Context, mgr manager.Manager, hub client.Reader, m *member, known remembered, o Options,
) (*store.Store, *rules.Rules, error) {
	compiler, err := lua.NewCompiler(lua.Options{Options: o.Scripts})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing Lua: %w", err)
	}
	noWebhooks := o.NoWebhooks || len(o.Namespaces) > 0
	kept := known.rules(noWebhooks)
	kinds := store.New(store.Options{
		Compiler: compiler, Services: m.client, NoWebhooks: noWebhooks,
		BuiltIn: []interpreter.Interpreter{o.Interpreter},
		Kept:    kept, Keep: func(read store.Sources) { known.keepRules(read, noWebhooks) },
	})
	ruled := rules.New(rules.Deps{
		Store: kinds, Hub: hub, NoWebhooks: noWebhooks, Kept: kept != nil, Clock: o.Clock,
		Refused: kept != nil && kept.Refused && kept.Empty(),
		Heard: func(ctx context.Context) bool {
			_, err := mgr.GetCache().GetInformer(ctx, &workv1alpha1.Work{})
			return err == nil && ctx.Err() == nil
		},
	})
	ruled.Load(ctx)
	if err := mgr.Add(manager.RunnableFunc(ruled.Start)); err != nil {
		return nil, nil, fmt.Errorf("waiting for what kinds mean: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return kinds.Follow(ctx, mgr.GetCache()) })); err != nil {
		return nil, nil, fmt.Errorf("following what kinds mean: %w", err)
	}
	return kinds, ruled, nil
}
