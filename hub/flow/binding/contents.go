package binding

import (
	"container/list"
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
)

// maxContents is how many bytes of encoded revisions are cached. Decoded, they take about ten times as much.
const maxContents = 8 << 20

// contents is a cache of revisions that are kept in Secrets. They never change, so they are cached as long as there is room. It is safe for
// concurrent use.
type contents struct {
	hubReader client.Reader

	mu    sync.Mutex
	known map[contentKey]*list.Element
	// recent has the cached revisions, the last used first.
	recent *list.List
	size   int
}

// contentKey identifies a revision of one rollout.
type contentKey struct {
	rollout types.UID
	id      revision.ID
}

type remembered struct {
	key  contentKey
	kept *revision.Kept
}

func newContents(r client.Reader) *contents {
	return &contents{hubReader: r, known: map[contentKey]*list.Element{}, recent: list.New()}
}

// get returns a revision of a rollout. The error is revision.ErrUnreadable if the revision is gone, or does not match its ID.
func (c *contents) get(ctx context.Context, rollout kube.Rollout, id revision.ID) (*revision.Kept, error) {
	key := contentKey{rollout: rollout.GetUID(), id: id}
	if kept := c.recall(key); kept != nil {
		return kept, nil
	}
	kept, err := kube.ReadRevision(ctx, c.hubReader, rollout, id)
	if err != nil {
		return nil, err
	}
	c.remember(remembered{key: key, kept: kept})
	return kept, nil
}

func (c *contents) recall(key contentKey) *revision.Kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.known[key]
	if at == nil {
		return nil
	}
	c.recent.MoveToFront(at)
	if r, ok := at.Value.(remembered); ok {
		return r.kept
	}
	return nil
}

func (c *contents) remember(r remembered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[r.key] != nil {
		return
	}
	c.known[r.key] = c.recent.PushFront(r)
	c.size += r.kept.Size
	for c.size > maxContents && c.recent.Len() > 1 {
		last := c.recent.Back()
		if old, ok := c.recent.Remove(last).(remembered); ok {
			delete(c.known, old.key)
			c.size -= old.kept.Size
		}
	}
}
