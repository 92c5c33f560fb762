package replicas

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
)

// Deps is what the stage needs.
type Deps struct {
	// Interpreter says which kinds can keep the replicas of a member.
	Interpreter interpreter.Interpreter
	// Informers are the informers of the manager's cache.
	Informers *kube.MetadataInformers
	// Events gets what people are told.
	Events kube.EventSink
}

// stage is what the two controllers of the stage have in common.
type stage struct {
	hubClient client.Client
	// liveReader reads templates, of which the cache has the metadata at most.
	liveReader client.Reader
	events     kube.EventSink
}

// Register adds the stage to a manager: a controller that marks what autoscalers scale, and
// one that writes back what they made of it.
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
