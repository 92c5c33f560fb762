package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

// store is the etcd of a control plane, through its HTTP interface.
type store struct{ http *http.Client }

// newStore connects to etcd through its socket in the data directory.
func newStore(dataDir string) *store {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dataDir, "run", "client.sock:0"))
	}
	return &store{http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// revisions are the keys of etcd with their mod revisions.
type revisions map[string]string

// renewed reports that a key is under a prefix that a control plane keeps writing by itself.
func renewed(key string) bool {
	return strings.HasPrefix(key, "/registry/leases/") || strings.HasPrefix(key, "/registry/masterleases/") ||
		strings.HasPrefix(key, "/registry/peerserverleases/")
}

// shapes reports that an object decides which resources are served or how requests are admitted. An API server still
// uses such an object for a moment after it is gone.
func shapes(key string) bool {
	for _, group := range []string{"apiextensions.k8s.io", "apiregistration.k8s.io", "validatingadmission", "mutatingadmission", "validatingwebhook", "mutatingwebhook"} {
		if strings.HasPrefix(key, "/registry/"+group) {
			return true
		}
	}
	return false
}

// restore deletes the keys that were added. It fails if a key of before was deleted or changed, or if an added one
// shapes the API.
func (s *store) restore(ctx context.Context, before revisions) error {
	for {
		now, err := s.revisions(ctx)
		if err != nil {
			return err
		}
		came, err := since(before, now)
		if err != nil || len(came) == 0 {
			return err
		}
		for _, key := range came {
			if err := s.remove(ctx, key); err != nil {
				return err
			}
		}
	}
}

// since returns the keys that were added.
func since(before, now revisions) ([]string, error) {
	var came []string
	for key, revision := range now {
		was, there := before[key]
		switch {
		case renewed(key):
		case !there && shapes(key):
			return nil, fmt.Errorf("%s came", key)
		case !there:
			came = append(came, key)
		case was != revision:
			return nil, fmt.Errorf("%s was written", key)
		}
	}
	for key := range before {
		if _, there := now[key]; !there && !renewed(key) {
			return nil, fmt.Errorf("%s is gone", key)
		}
	}
	return came, nil
}

// revisions returns the revisions of all keys.
func (s *store) revisions(ctx context.Context) (revisions, error) {
	all := []byte{0} // as key and range end: all keys
	var answer struct {
		Kvs []struct {
			Key      []byte `json:"key"`
			Revision string `json:"mod_revision"`
		} `json:"kvs"`
	}
	if err := s.ask(ctx, "range", map[string]any{"key": all, "range_end": all, "keys_only": true}, &answer); err != nil {
		return nil, err
	}
	out := make(revisions, len(answer.Kvs))
	for _, kv := range answer.Kvs {
		out[string(kv.Key)] = kv.Revision
	}
	return out, nil
}

// remove deletes one key. Each is deleted at its own revision, as API servers do: a watch cache that has seen a
// revision assumes that it saw all of it, and would miss the other deletions at that revision.
func (s *store) remove(ctx context.Context, key string) error {
	return s.ask(ctx, "deleterange", map[string]any{"key": []byte(key)}, &struct{}{})
}

func (s *store) ask(ctx context.Context, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := s.http.Do(req)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of etcd: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd says %s: %s", res.Status, data)
	}
	return json.Unmarshal(data, answer)
}
