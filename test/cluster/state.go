package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	// A new hub is at rest when its own controllers, which write for a moment after it is ready, have written nothing for so many looks.
	settlePoll  = 200 * time.Millisecond
	settleLooks = 5
	// restoreTimeout is how long the controllers of a hub may go on with what tests have left behind, on a machine that is busy.
	restoreTimeout = 2 * time.Minute
	// mostWrites is how many writes etcd takes in one transaction, less some.
	mostWrites = 100
	// registry is below what key kube-apiserver keeps everything.
	registry = "/registry/"
)

// errUnfit is that of a hub which is not made what it was.
var errUnfit = errors.New("its API server goes by what was changed")

// apiServerGoesBy are the prefixes of the objects by which an API server serves kinds, asks others and bounds requests. It follows them some
// time after they have changed, and nothing says when: a hub is not lent again once a test has changed any.
func apiServerGoesBy() []string {
	return []string{
		"apiextensions.k8s.io/", "apiregistration.k8s.io/", "validatingadmission", "mutatingadmission",
		"validatingwebhookconfigurations/", "mutatingwebhookconfigurations/", "flowschemas/", "prioritylevelconfigurations/",
	}
}

// state is what the database of a hub had in it at first.
type state struct {
	api   rest.Interface
	paths []string // of all resources that can be listed
	etcd  database
	// values are by key.
	values map[string][]byte
}

// remember returns the state of a hub, which nobody uses yet, when its own controllers have come to rest.
func remember(ctx context.Context, c *Cluster) (*state, error) {
	s := &state{etcd: newDatabase(filepath.Join(c.DataDir, "run", "client.sock:0"))}
	config := rest.CopyConfig(c.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{} // of the kinds that are listed some are deprecated
	var err error
	if s.api, err = restClient(config); err != nil {
		return nil, err
	}
	if s.paths, err = listed(c.Config); err != nil {
		return nil, err
	}
	last, looks := "", 0
	err = wait.PollUntilContextTimeout(ctx, settlePoll, restoreTimeout, true, func(ctx context.Context) (bool, error) {
		now, err := s.etcd.revision(ctx)
		if err != nil {
			return false, err
		}
		if looks++; now != last {
			last, looks = now, 0
		}
		return looks == settleLooks, nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for a hub to come to rest: %w", err)
	}
	if s.values, err = s.etcd.read(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// listed returns the paths of all resources that can be listed.
func listed(config *rest.Config) ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("asking what a hub serves: %w", err)
	}
	var out []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("asking what a hub serves: %w", err)
		}
		at := "/apis/" + gv.String()
		if gv.Group == "" {
			at = "/api/" + gv.Version
		}
		for i := range list.APIResources {
			if r := list.APIResources[i]; slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				out = append(out, at+"/"+r.Name)
			}
		}
	}
	return out, nil
}

// restore makes the database what it was. It returns when the API server knows and nobody changes it any more, or errUnfit.
func (s *state) restore(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, restoreTimeout, true, func(ctx context.Context) (bool, error) {
		var wrote int
		if wrote, last = s.write(ctx); last != nil {
			return false, last
		}
		if wrote > 0 {
			return false, s.caughtUp(ctx)
		}
		return true, nil
	})
	return errors.Join(err, last)
}

// write writes what differs, and returns how much that was.
func (s *state) write(ctx context.Context) (int, error) {
	now, err := s.etcd.read(ctx)
	if err != nil {
		return 0, err
	}
	var ops []operation
	for key := range now {
		if _, was := s.values[key]; !was {
			ops = append(ops, operation{Delete: &deletion{Key: []byte(key)}})
		}
	}
	for key, value := range s.values {
		if !bytes.Equal(now[key], value) && !sayTheSame(now[key], value) {
			ops = append(ops, operation{Put: &put{Key: []byte(key), Value: value}})
		}
	}
	for _, op := range ops {
		if slices.ContainsFunc(apiServerGoesBy(), func(prefix string) bool { return strings.HasPrefix(op.key(), registry+prefix) }) {
			return 0, errUnfit
		}
	}
	for some := range slices.Chunk(ops, mostWrites) {
		if err := s.etcd.write(ctx, some); err != nil {
			return 0, err
		}
	}
	return len(ops), nil
}

// sayTheSame says whether of two versions of an object that is kept as JSON, such as a CRD, controllers have written the one after the other:
// whether they differ in nothing but the status and who wrote what.
func sayTheSame(a, b []byte) bool {
	said := func(value []byte) (map[string]any, bool) {
		var object map[string]any
		if json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		delete(object, "status")
		unstructured.RemoveNestedField(object, "metadata", "managedFields")
		return object, true
	}
	before, isJSON := said(a)
	after, areBoth := said(b)
	return isJSON && areBoth && reflect.DeepEqual(before, after)
}

// caughtUp returns when the caches of the API server have what was written: it answers a list of unknown age no sooner. Who lists from
// the cache, as every informer does, would be told of what is gone otherwise.
func (s *state) caughtUp(ctx context.Context) error {
	for _, path := range s.paths {
		err := s.api.Get().AbsPath(path).SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("listing %q: %w", path, err)
		}
	}
	return nil
}

// database is an etcd as its gateway for JSON shows it.
type database struct{ client *http.Client }

// operation is a write in a transaction.
type operation struct {
	Put    *put      `json:"requestPut,omitempty"`
	Delete *deletion `json:"requestDeleteRange,omitempty"`
}

type put struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

type deletion struct {
	Key []byte `json:"key"`
}

func (o operation) key() string {
	if o.Put != nil {
		return string(o.Put.Key)
	}
	return string(o.Delete.Key)
}

func newDatabase(socket string) database {
	return database{client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}}
}

// revision is another after each write.
func (d database) revision(ctx context.Context) (string, error) {
	var answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	err := d.ask(ctx, "range", map[string][]byte{"key": []byte(registry)}, &answer)
	return answer.Header.Revision, err
}

// read returns all that there is but the leases by which API servers show that they live.
func (d database) read(ctx context.Context) (map[string][]byte, error) {
	var answer struct {
		KVs []put `json:"kvs"`
	}
	err := d.ask(ctx, "range", map[string][]byte{"key": []byte(registry), "range_end": []byte(strings.TrimSuffix(registry, "/") + "0")}, &answer)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(answer.KVs))
	for _, kv := range answer.KVs {
		if !strings.HasPrefix(string(kv.Key), registry+"leases/kube-system/apiserver-") {
			out[string(kv.Key)] = kv.Value
		}
	}
	return out, nil
}

func (d database) write(ctx context.Context, ops []operation) error {
	return d.ask(ctx, "txn", map[string][]operation{"success": ops}, &struct{}{})
}

func (d database) ask(ctx context.Context, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/"+what, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	response, err := d.client.Do(request)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking etcd: it answers %s: %s", response.Status, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	return nil
}
