"""The oracle: every graph of the corpus is written once and run on LangGraph and on Lithograph."""
