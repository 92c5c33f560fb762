package encryption

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
)

const (
	// page is how many values are read at a time.
	page = 200
	// maxPuts and maxBytes bound a transaction; etcd's limits are 128 operations and 1.5 MiB.
	maxPuts  = 100
	maxBytes = 1 << 20
	// providerTimeout is how long a provider of the operator may take until its first response.
	providerTimeout = 30 * time.Second
	providerPoll    = 250 * time.Millisecond
)

// ErrChanged says that somebody else wrote to the database at the same time.
var ErrChanged = errors.New("something else writes to the database")

// Rewrite encrypts each value of Resources with a key prefix that is not encrypted according to the configuration. It
// returns how many it wrote; after an error, such as ErrChanged, it can be called again.
func Rewrite(ctx context.Context, client *clientv3.Client, configPath, prefix string) (int, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the health checks of providers
	defer cancel()
	config, err := encryptionconfig.LoadEncryptionConfig(ctx, configPath, false, "hub")
	if err != nil {
		return 0, fmt.Errorf("reading the configuration of encryption: %w", err)
	}
	transformers := encryptionconfig.StaticTransformers(config.Transformers)
	written := 0
	for _, resource := range Resources() {
		r := rewriter{client: client, transformer: transformers.TransformerForResource(resource), resource: resource, prefix: resourcePrefix(prefix, resource)}
		if len(config.HealthChecks) > 0 {
			r.timeout = providerTimeout // an external provider may still be starting
		}
		if err := r.run(ctx); err != nil {
			return written + r.written, err
		}
		written += r.written
	}
	return written, nil
}

// resourcePrefix is the key prefix of a resource in kube-apiserver's database.
func resourcePrefix(prefix string, resource schema.GroupResource) string {
	if resource.Group == "" {
		return prefix + "/" + resource.Resource + "/"
	}
	return prefix + "/" + resource.Group + "/" + resource.Resource + "/"
}

// rewriter rewrites the values of one resource.
type rewriter struct {
	client      *clientv3.Client
	transformer value.Transformer
	resource    schema.GroupResource
	prefix      string
	timeout     time.Duration
	written     int

	same []clientv3.Cmp
	puts []clientv3.Op
	size int
}

func (r *rewriter) run(ctx context.Context) error {
	from := r.prefix
	end := clientv3.GetPrefixRangeEnd(from)
	for {
		got, err := r.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page))
		if err != nil {
			return fmt.Errorf("reading %s from the database: %w", r.resource, err)
		}
		for _, kv := range got.Kvs {
			fresh, err := r.transform(ctx, string(kv.Key), kv.Value)
			if err != nil {
				return err
			}
			if fresh != nil {
				if err := r.put(ctx, string(kv.Key), kv.ModRevision, fresh); err != nil {
					return err
				}
			}
			from = string(kv.Key) + "\x00"
		}
		if !got.More {
			return r.flush(ctx)
		}
	}
}

// transform returns the newly encrypted value, or nil if it is up to date.
func (r *rewriter) transform(ctx context.Context, key string, old []byte) ([]byte, error) {
	where := value.DefaultContext(key)
	var fresh []byte
	once := func(ctx context.Context) error {
		plain, stale, err := r.transformer.TransformFromStorage(ctx, old, where)
		if err == nil && stale {
			fresh, err = r.transformer.TransformToStorage(ctx, plain, where)
		}
		return err
	}
	err := once(ctx)
	if err != nil && r.timeout > 0 {
		_ = wait.PollUntilContextTimeout(ctx, providerPoll, r.timeout, false, func(ctx context.Context) (bool, error) {
			err = once(ctx)
			return err == nil, nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s in the database cannot be encrypted anew: %w; its key is missing, or the provider that --encryption-provider-config names does not answer: "+
			"start it, or bring encryption/%s back from a backup of the hub", key, err, KeysName)
	}
	return fresh, nil
}

func (r *rewriter) put(ctx context.Context, key string, revision int64, fresh []byte) error {
	if r.size+len(fresh) > maxBytes || len(r.puts) == maxPuts {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.same = append(r.same, clientv3.Compare(clientv3.ModRevision(key), "=", revision))
	r.puts = append(r.puts, clientv3.OpPut(key, string(fresh), clientv3.WithIgnoreLease()))
	r.size += len(fresh)
	return nil
}

// flush writes the collected values in one transaction.
func (r *rewriter) flush(ctx context.Context) error {
	if len(r.puts) == 0 {
		return nil
	}
	done, err := r.client.Txn(ctx).If(r.same...).Then(r.puts...).Commit()
	if err == nil && !done.Succeeded {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("encrypting %s in the database: %w", r.resource, err)
	}
	r.written += len(r.puts)
	r.same, r.puts, r.size = nil, nil, 0
	return nil
}
