module rolegate

go 1.22
