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

// store is the database of a control plane, by the HTTP interface of its etcd.
type store struct{ http *http.Client }

// newStore finds it by its socket in the data directory.
func newStore(dataDir string) *store {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dataDir, "run", "client.sock:0"))
	}
	return &store{http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// revisions are the keys of a database, and at which revision each was written.
type revisions map[string]string

// renewed are below what keys a control plane writes by itself again and again.
func renewed(key string) bool {
	return strings.HasPrefix(key, "/registry/leases/") || strings.HasPrefix(key, "/registry/masterleases/") ||
		strings.HasPrefix(key, "/registry/peerserverleases/")
}

// shapes says whether the object of a key decides what else is served or admitted. An API server goes by such an
// object for a moment after it is gone.
func shapes(key string) bool {
	for _, group := range []string{"apiextensions.k8s.io", "apiregistration.k8s.io", "validatingadmission", "mutatingadmission", "validatingwebhook", "mutatingwebhook"} {
		if strings.HasPrefix(key, "/registry/"+group) {
			return true
		}
	}
	return false
}

// restore removes what came since. It is an error if what was there is gone or was written, or if what came shapes
// the API.
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

// since returns the keys that came.
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

// revisions returns those of all keys.
func (s *store) revisions(ctx context.Context) (revisions, error) {
	all := []byte{0} // as a key and as the end of a range: from the first to the last
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

// remove removes one key. Each goes at a revision of its own, as all that API servers write does: one that has seen a revision
// takes it for seen whole, and would answer without the rest of what goes with it.
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
