package replicas

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Interpreter tells which kinds can retain the replicas of a member.
	Interpreter interpreter.Interpreter
	// Informers are the informers of the manager's cache.
	Informers *watchset.MetadataInformers
	// Events takes the events about templates and autoscalers.
	Events eventsink.Sink
}

// stage is what the two controllers share.
type stage struct {
	hubClient client.Client
	// liveReader reads templates, of which the cache has only the metadata.
	liveReader client.Reader
	events     eventsink.Sink
}

// Register adds the stage to a manager: a controller that marks the targets of autoscalers, and one that writes their
// replicas back.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Interpreter == nil || deps.Informers == nil || deps.Events == nil {
		return errors.New("registering the replicas stage: it needs an interpreter, informers and an event sink")
	}
	s := stage{hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(), events: deps.Events}
	if err := registerMarker(mgr, &marker{stage: s, interpreter: deps.Interpreter, wants: newWants()}); err != nil {
		return fmt.Errorf("registering the replicas stage: %w", err)
	}
	back := &writeback{stage: s, cache: mgr.GetCache(), deployments: &deployments{informers: deps.Informers}}
	if err := registerWriteback(mgr, back); err != nil {
		return fmt.Errorf("registering the replicas stage: %w", err)
	}
	return nil
}
