package dashboard

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
)

// loadAssets reads the style sheet, the script and the icon. The URL of each contains its hash, so that browsers may
// cache it forever.
func loadAssets() (map[string]asset, error) {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return nil, fmt.Errorf("reading the static files: %w", err)
	}
	out := map[string]asset{}
	for _, entry := range entries {
		content, err := files.ReadFile("static/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading a static file: %w", err)
		}
		sum := sha256.Sum256(content)
		const short = 9
		out[entry.Name()] = asset{content: content, kind: kinds[path.Ext(entry.Name())], tag: base64.RawURLEncoding.EncodeToString(sum[:short])}
	}
	return out, nil
}

// assetPath returns the URL of a static file.
func (s *Server) assetPath(name string) string { return "/static/" + name + "?v=" + s.assets[name].tag }

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	one, ok := s.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", one.kind)
	h.Set("ETag", `"`+one.tag+`"`)
	if r.URL.Query().Get("v") == one.tag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == `"`+one.tag+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(one.content)
}
