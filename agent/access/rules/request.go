package rules

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Verbs, as RBAC has them.
const (
	verbGet              = "get"
	verbList             = "list"
	verbWatch            = "watch"
	verbCreate           = "create"
	verbUpdate           = "update"
	verbPatch            = "patch"
	verbDelete           = "delete"
	verbDeleteCollection = "deletecollection"
)

// Request is a request in the terms in which an API server authorizes it: verb, resource, namespace and name.
type Request struct {
	// Verb is the RBAC verb. A request that upgrades has the verb of its method, and Upgrade set.
	Verb string
	// Upgrade says that the connection switches to another protocol.
	Upgrade bool
	// Path is the decoded path of a non-resource request; empty otherwise.
	Path string
	// Group, Version, Namespace, Resource, Name and Subresource identify the object.
	Group, Version, Namespace, Resource, Name, Subresource string
	// BodyName and BodyPrefix are metadata.name and metadata.generateName in the body of a request that creates an
	// object (see NamedInBody). They cannot be parsed from the path.
	BodyName, BodyPrefix string
	// more says that the path continues after the subresource.
	more bool
}

// String describes what a request is about, for records and for people: pods/exec shop/web-0.
func (r Request) String() string {
	if r.Path != "" {
		return r.Path
	}
	out := r.Resource
	if r.Group != "" {
		out += "." + r.Group
	}
	if r.Subresource != "" {
		out += "/" + r.Subresource
	}
	name := cmp.Or(r.Name, r.BodyName)
	switch {
	case r.Namespace != "" && name != "" && r.Resource != "namespaces":
		return out + " " + r.Namespace + "/" + name
	case name != "":
		return out + " " + name
	case r.Namespace != "":
		return out + " in " + r.Namespace
	default:
		return out
	}
}

// Reads returns whether a request changes nothing.
func (r Request) Reads() bool {
	return !r.Upgrade && (r.Verb == verbGet || r.Verb == verbList || r.Verb == verbWatch)
}

// Follows returns whether the answer to a request may begin late and last long: a followed log sends its headers with
// its first line.
func (r Request) Follows() bool { return r.Resource == "pods" && r.Subresource == "log" }

// NamedInBody returns whether only the body of a request names the object that it creates. For other requests the API
// server refuses a body whose name differs from that in the path.
func (r Request) NamedInBody() bool {
	return r.Verb == verbCreate && !r.Upgrade && r.Path == "" && r.Name == "" && !r.IsSelfReview()
}

// Parse interprets a request by its method, its path as received (encoded) and its query. It refuses whatever an API
// server could interpret differently.
func Parse(method, escapedPath, rawQuery string, upgrade bool) (Request, error) {
	path, err := decoded(escapedPath)
	if err != nil {
		return Request{}, err
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Request{}, errors.New("the query of the request cannot be understood")
	}
	r := Request{Upgrade: upgrade}
	if r.Verb, err = verbOf(method); err != nil {
		return Request{}, err
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		r.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.Group, r.Version, parts = parts[1], parts[2], parts[3:]
	default:
		r.Path = path
		return r, nil
	}
	if parts, err = r.special(parts); err != nil {
		return Request{}, err
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
	r.more = len(parts) > 3
	r.collection(query)
	return r, nil
}

// special handles the legacy paths that begin with a verb.
func (r *Request) special(parts []string) ([]string, error) {
	switch {
	case parts[0] == "proxy":
		return nil, errors.New("paths that begin with proxy are not served; the subresource proxy is")
	case parts[0] != verbWatch:
		return parts, nil
	case len(parts) < 2 || r.Verb != verbGet:
		return nil, errors.New("the path of the request cannot be understood")
	default:
		r.Verb = verbWatch
		return parts[1:], nil
	}
}

// collection sets the verb of a request about a whole collection.
func (r *Request) collection(query url.Values) {
	if r.Name != "" {
		return
	}
	switch r.Verb {
	case verbGet:
		r.Verb = verbList
		if values, asked := query[verbWatch]; asked && !strings.EqualFold(values[0], "false") && values[0] != "0" {
			r.Verb = verbWatch
		}
	case verbDelete:
		r.Verb = verbDeleteCollection
	}
}

func verbOf(method string) (string, error) {
	switch method {
	case http.MethodGet, http.MethodHead:
		return verbGet, nil
	case http.MethodPost:
		return verbCreate, nil
	case http.MethodPut:
		return verbUpdate, nil
	case http.MethodPatch:
		return verbPatch, nil
	case http.MethodDelete:
		return verbDelete, nil
	default:
		return "", fmt.Errorf("the API has no method %q", method)
	}
}

// maxPath bounds the length of a path, in bytes. No path of the API has a quarter of that.
const maxPath = 8 << 10

// decoded decodes a path. It refuses paths that change their meaning when they are decoded again or cleaned.
func decoded(escaped string) (string, error) {
	if len(escaped) > maxPath || !strings.HasPrefix(escaped, "/") {
		return "", errors.New("the path of the request is too long, or does not begin with a slash")
	}
	path, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(path) || strings.Contains(path, "%") || strings.Contains(path, `\`) ||
		strings.Count(path, "/") != strings.Count(escaped, "/") || strings.ContainsFunc(path, unicode.IsControl) {
		return "", errors.New("the path of the request has characters, encoded or not, that no object name can have")
	}
	if strings.Contains(path, "//") {
		return "", errors.New("the path of the request has an empty part")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return "", errors.New("the path of the request has a part of one dot or two")
		}
	}
	return path, nil
}
