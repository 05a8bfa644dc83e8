package ui

// consolePages are those of the API: what can be asked for, to be tried at once.
func (s *Site) consolePages() []Page {
	docs := &apiDocuments{}
	return []Page{
		{Pattern: "/api", Units: 1, Open: true, Serve: docs.serveConsole},
		{Pattern: "/api/{operation}", Units: 20, Open: true, Serve: docs.serveOperation},
	}
}

// consoleView is the list of operations.
type consoleView struct {
	Query  string
	Groups []*apiGroup
	Count  int
}

func (docs *apiDocuments) serveConsole(r *Request) error {
	d, err := docs.of(r)
	if err != nil {
		return err
	}
	v := consoleView{Query: r.Query("q")}
	v.Groups = d.search(v.Query)
	for _, g := range v.Groups {
		v.Count += len(g.Operations)
	}
	return r.Render("console", "API", &v)
}
