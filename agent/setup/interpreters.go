package setup

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/store"
)

// interpreters returns what knows what kinds mean: what the hub says, before what is built
// in. If the hub cannot be asked now, what is built in holds until it can: the objects
// of the member are looked after in any case. Webhooks are called from the member's
// side, so their Services are those of the member. An agent that is confined to namespaces
// calls none: a webhook may be at any address.
func interpreters(ctx context.Context, mgr manager.Manager, hub client.Reader, m *member, o Options) (*store.Store, error) {
	compiler, err := lua.NewCompiler(lua.Options{Options: o.Scripts})
	if err != nil {
		return nil, fmt.Errorf("preparing Lua: %w", err)
	}
	kinds := store.New(store.Options{
		Compiler: compiler, Services: m.client, NoWebhooks: o.NoWebhooks || len(o.Namespaces) > 0,
		BuiltIn: []interpreter.Interpreter{o.Interpreter},
	})
	if err := kinds.Load(ctx, hub); err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "What kinds mean was not read from the hub; only what is built in is known until it is")
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return kinds.Follow(ctx, mgr.GetCache()) })); err != nil {
		return nil, fmt.Errorf("following what kinds mean: %w", err)
	}
	return kinds, nil
}
